import { type JSX } from 'preact';
import { type Overview } from '../api/contract';
import { type Poll } from '../poll/use-poll';
import { Loaded } from '../ui/loaded';
import { AttentionTiles } from './attention-tiles';
import { DuePanel } from './due-panel';
import { KindsPanel } from './kinds-panel';
import { LatenessPanel } from './lateness-panel';
import { OrderTiles } from './order-tiles';
import { ProvidersPanel } from './providers-panel';
import { SystemPanel } from './system-panel';

/** The state of everything at this moment. */
export function NowView({ overview }: { overview: Poll<Overview> }): JSX.Element {
  return (
    <Loaded poll={overview}>
      {(data) => (
        <div class="now">
          <OrderTiles overview={data} />
          <AttentionTiles attention={data.attention} />
          <DuePanel overview={data} />
          <div class="columns">
            <SystemPanel overview={data} />
            <LatenessPanel lateness={data.lateness} />
          </div>
          <div class="columns">
            <ProvidersPanel providers={data.providers} onChange={overview.refresh} />
            <KindsPanel kinds={data.kinds} onChange={overview.refresh} />
          </div>
        </div>
      )}
    </Loaded>
  );
}

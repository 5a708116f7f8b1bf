import { type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { formatCount } from '../format/format-count';
import { type Messages } from '../i18n/en';
import { useApp, useMay } from '../session/app-context';
import { choiceColumn } from '../ui/choice-column';
import { ChosenButtons } from '../ui/chosen-buttons';
import { type Column, DataTable } from '../ui/data-table';
import { Panel } from '../ui/panel';
import { useAction } from '../ui/use-action';

type Texts = Messages['actions']['replayRows'];

interface MessagesPanelProps<Row> {
  readonly title: string;
  readonly hint: string;
  readonly empty: string;
  /** Those without an id are chosen together. */
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  /** Where to replay and to discard. */
  readonly path: string;
  readonly actions: { readonly replay: Texts; readonly discard: Texts };
  readonly onChange: () => void;
}

/** A list of messages, some of which can be replayed or discarded. */
export function MessagesPanel<Row extends { readonly id: string }>(props: MessagesPanelProps<Row>): JSX.Element {
  const { api, locale } = useApp();
  const mayOperate = useMay('operate');
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const open = useAction(() => {
    choose(new Set());
    props.onChange();
  });
  const { rows, path } = props;
  const count = rows.filter(({ id }) => chosen.has(id)).length;
  const start = (action: 'replay' | 'discard'): void => {
    const texts = props.actions[action];
    open({
      ...texts,
      title: texts.title(formatCount(count, locale)),
      isDangerous: action === 'discard',
      done: (result) => texts.done(formatCount((result as { count: number | null }).count ?? 0, locale)),
      perform: (reason) => api.post(`${path}/${action}`, { ids: [...chosen], reason }),
    });
  };
  const boxes = choiceColumn<Row>({ rows, chosen, onChoose: choose, keyOf: ({ id }) => id, nameOf: ({ id }) => id });
  return (
    <Panel
      title={props.title}
      aside={
        rows.length > 0 && (
          <ChosenButtons count={count} actions={['replay', 'discard']} role="operate" onStart={start} />
        )
      }
    >
      <p class="muted">{props.hint}</p>
      <DataTable
        caption={props.title}
        empty={props.empty}
        rows={rows.map((row, index) => ({ ...row, index }))}
        rowKey={({ index }) => String(index)}
        columns={[...(mayOperate ? [boxes] : []), ...props.columns]}
      />
    </Panel>
  );
}

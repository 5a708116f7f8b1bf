import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { type BulkResult } from '../api/attention-contract';
import { type BulkTotal, NOTHING_YET, runBulk } from '../bulk/run-bulk';
import { useApp } from '../session/app-context';
import { bulkBody, type BulkEntry } from './bulk-request';

/** Where a bulk action is. */
export type BulkStage = 'entry' | 'previewing' | 'previewed' | 'running' | 'done' | 'stopped';

export interface BulkRun {
  readonly stage: BulkStage;
  /** What the preview or the run found so far. */
  readonly total: BulkTotal;
  /** How many orders the preview found. */
  readonly expected: number;
  readonly problem: ApiProblem | undefined;
  readonly preview: (entry: BulkEntry) => Promise<void>;
  readonly run: (entry: BulkEntry) => Promise<void>;
  readonly stop: () => void;
}

/** Previews a bulk action, and runs it. */
export function useBulk(onDone: () => void): BulkRun {
  const { api } = useApp();
  const [stage, setStage] = useState<BulkStage>('entry');
  const [total, setTotal] = useState(NOTHING_YET);
  const [expected, setExpected] = useState(0);
  const [problem, setProblem] = useState<ApiProblem>();
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);

  const start = async (entry: BulkEntry, isDryRun: boolean): Promise<void> => {
    stopping.current = new AbortController();
    setProblem(undefined);
    setTotal(NOTHING_YET);
    setStage(isDryRun ? 'previewing' : 'running');
    const call = (cursor: string | undefined): Promise<BulkResult> =>
      api.post<BulkResult>(`orders/bulk/actions/${entry.action}`, bulkBody(entry, isDryRun, cursor));
    try {
      const result = await runBulk(call, setTotal, stopping.current.signal);
      if (isDryRun) setExpected(result.count);
      setStage(isDryRun ? 'previewed' : result.isComplete ? 'done' : 'stopped');
    } catch (error) {
      setProblem(toProblem(error));
      setStage(isDryRun ? 'entry' : 'stopped');
    }
    if (!isDryRun) onDone();
  };
  return {
    ...{ stage, total, expected, problem },
    preview: (entry) => start(entry, true),
    run: (entry) => start(entry, false),
    stop: () => stopping.current.abort(),
  };
}

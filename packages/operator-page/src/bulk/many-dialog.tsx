import { type ComponentChildren, type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { formatCount } from '../format/format-count';
import { useApp } from '../session/app-context';
import { Dialog } from '../ui/dialog';
import { ProblemNote } from '../ui/problem-note';
import { ProgressBar } from '../ui/progress-bar';
import { ReasonField } from '../ui/reason-field';
import { ManyPreview } from './many-preview';
import { type ManyProgress } from './run-many';

/** An action on many things that a person confirms. */
export interface ManySpec {
  readonly texts: {
    readonly title: (count: string) => string;
    readonly what: string;
    readonly confirm: string;
    readonly done: (count: string) => string;
  };
  readonly size: number;
  /** The things, or what they have in common. */
  readonly about: readonly string[];
  /** It cannot be taken back. */
  readonly isDangerous?: boolean;
  /** Controls of its own. */
  readonly fields?: ComponentChildren;
  /** What is still wrong with the fields. */
  readonly problem?: () => string | undefined;
  readonly run: (
    reason: string,
    onProgress: (progress: ManyProgress) => void,
    signal: AbortSignal,
  ) => Promise<ManyProgress>;
}

interface ManyDialogProps {
  readonly action: ManySpec;
  readonly onDone: () => void;
}

/** Says what will happen to what, asks for a reason, shows the progress, and what was refused. */
export function ManyDialog({ action, onDone }: ManyDialogProps): JSX.Element {
  const { t, locale, announce, showDialog } = useApp();
  const [reason, setReason] = useState('');
  const [wrong, setWrong] = useState<string>();
  const [progress, setProgress] = useState<ManyProgress>();
  const [stage, setStage] = useState<'entry' | 'running' | 'over'>('entry');
  const [problem, setProblem] = useState<ApiProblem>();
  const stopping = useRef(new AbortController());
  useEffect(() => () => stopping.current.abort(), []);
  const { texts, size } = action;

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const given = reason.trim();
    const missing = action.problem?.() ?? (given === '' ? t.actions.reasonMissing : undefined);
    setWrong(missing);
    if (missing !== undefined || stage !== 'entry') return;
    setStage('running');
    setProblem(undefined);
    try {
      end(await action.run(given, setProgress, stopping.current.signal));
    } catch (error) {
      setProblem(toProblem(error));
      setStage('entry');
    }
    onDone();
  };
  const end = ({ changed, refused }: ManyProgress): void => {
    announce(texts.done(formatCount(changed, locale)));
    if (Object.keys(refused).length === 0) showDialog(null);
    setStage('over');
  };

  return (
    <Dialog title={texts.title(formatCount(size, locale))} onClose={() => showDialog(null)}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <p>{texts.what}</p>
        {stage === 'over' && progress ? (
          <Refused progress={progress} />
        ) : (
          <>
            <ManyPreview about={action.about} />
            {action.fields}
            <ReasonField value={reason} onInput={setReason} problem={wrong} />
          </>
        )}
        {stage === 'running' && <Progress progress={progress} size={size} />}
        {problem && <ProblemNote problem={problem} />}
        <ManyButtons action={action} stage={stage} />
      </form>
    </Dialog>
  );
}

function Progress({ progress, size }: { progress: ManyProgress | undefined; size: number }): JSX.Element {
  const { t, locale } = useApp();
  const done = progress?.done ?? 0;
  const label = t.attention.progress(formatCount(done, locale), formatCount(size, locale));
  return <ProgressBar label={label} done={done} all={size} />;
}

function Refused({ progress }: { progress: ManyProgress }): JSX.Element {
  const { t, locale } = useApp();
  return (
    <div role="status" class="note note-warn">
      <p>{t.attention.refused}</p>
      <ul>
        {Object.entries(progress.refused).map(([code, count]) => (
          <li key={code}>
            <code>{code}</code>: {formatCount(count, locale)}
          </li>
        ))}
      </ul>
    </div>
  );
}

interface ManyButtonsProps {
  readonly action: ManySpec;
  readonly stage: 'entry' | 'running' | 'over';
}

function ManyButtons({ action, stage }: ManyButtonsProps): JSX.Element {
  const { t, showDialog } = useApp();
  const leave = { entry: t.shell.cancel, running: t.orders.bulk.stop, over: t.shell.close }[stage];
  return (
    <footer class="dialog-foot">
      <button type="button" onClick={() => showDialog(null)}>
        {leave}
      </button>
      {stage !== 'over' && (
        <button type="submit" class={action.isDangerous ? 'danger' : 'primary'} aria-disabled={stage === 'running'}>
          {action.texts.confirm}
        </button>
      )}
    </footer>
  );
}

import { type ComponentChildren, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { useApp } from '../session/app-context';
import { Dialog } from './dialog';
import { ProblemNote } from './problem-note';
import { ReasonField } from './reason-field';

/** An action that a person confirms. */
export interface ActionSpec {
  readonly title: string;
  /** What will happen. */
  readonly what: string;
  readonly confirm: string;
  /** Said when it is done. */
  readonly done: string | ((result: unknown) => string);
  /** It cannot be taken back. */
  readonly isDangerous?: boolean;
  /** @default true */
  readonly needsReason?: boolean;
  /** Controls of its own. */
  readonly fields?: ComponentChildren;
  /** What is still wrong with the fields. */
  readonly problem?: () => string | undefined;
  readonly perform: (reason: string) => Promise<unknown>;
}

interface ActionDialogProps {
  readonly action: ActionSpec;
  readonly onDone: (result: unknown) => void;
}

/** Asks for a reason and a confirmation, does it, and says that it is done or why not. */
export function ActionDialog({ action, onDone }: ActionDialogProps): JSX.Element {
  const { t, announce, showDialog } = useApp();
  const [reason, setReason] = useState('');
  const [wrong, setWrong] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  const [problem, setProblem] = useState<ApiProblem>();
  const [isWorking, setWorking] = useState(false);
  const needsReason = action.needsReason ?? true;

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isWorking) return;
    const isIncomplete = needsReason && reason.trim() === '';
    const first = action.problem?.();
    setMissing(isIncomplete);
    setWrong(first);
    if (isIncomplete || first !== undefined) return;
    setWorking(true);
    try {
      const result = await action.perform(reason.trim());
      showDialog(null);
      announce(typeof action.done === 'string' ? action.done : action.done(result));
      onDone(result);
    } catch (error) {
      setProblem(toProblem(error));
      setWorking(false);
    }
  };

  return (
    <Dialog title={action.title} onClose={() => showDialog(null)}>
      <form onSubmit={(event) => void submit(event)} noValidate>
        <p>{action.what}</p>
        {action.fields}
        {wrong && (
          <p class="field-problem" role="alert">
            {wrong}
          </p>
        )}
        {needsReason && (
          <ReasonField value={reason} onInput={setReason} problem={isMissing ? t.actions.reasonMissing : undefined} />
        )}
        {problem && <ProblemNote problem={problem} />}
        <DialogButtons action={action} isWorking={isWorking} />
      </form>
    </Dialog>
  );
}

function DialogButtons({ action, isWorking }: { action: ActionSpec; isWorking: boolean }): JSX.Element {
  const { t, showDialog } = useApp();
  return (
    <footer class="dialog-foot">
      <button type="button" onClick={() => showDialog(null)}>
        {t.shell.cancel}
      </button>
      <button type="submit" class={action.isDangerous ? 'danger' : 'primary'} aria-disabled={isWorking}>
        {isWorking ? `${t.actions.working}…` : action.confirm}
      </button>
    </footer>
  );
}

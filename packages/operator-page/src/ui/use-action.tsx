import { useApp } from '../session/app-context';
import { ActionDialog, type ActionSpec } from './action-dialog';

/** Returns a function that opens the dialog of an action. */
export function useAction(onDone: (result: unknown) => void): (action: ActionSpec) => void {
  const { showDialog } = useApp();
  return (action) => showDialog(<ActionDialog key={action.title} action={action} onDone={onDone} />);
}

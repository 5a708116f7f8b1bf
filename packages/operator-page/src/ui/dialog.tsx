import { type ComponentChildren, type JSX } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { useApp } from '../session/app-context';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** A modal dialog of the browser, which keeps the focus inside, closes on Escape, and gives the focus back. */
export function Dialog({ title, onClose, children }: DialogProps): JSX.Element {
  const { t } = useApp();
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (document.activeElement === document.body) document.querySelector<HTMLElement>('h1')?.focus();
    };
  }, []);
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={ref} class="dialog" aria-labelledby={id} onCancel={onCancel}>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="icon-button" aria-label={t.shell.close} onClick={onClose}>
          <span aria-hidden="true">×</span>
        </button>
      </header>
      {children}
    </dialog>
  );
}

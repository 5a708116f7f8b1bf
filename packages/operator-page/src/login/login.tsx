import { type JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ApiClient } from '../api/api-client';
import { type ApiProblem, toProblem } from '../api/api-problem';
import { type Session } from '../api/contract';
import { type Messages } from '../i18n/en';
import { Field } from '../ui/field';
import { describeProblem } from '../ui/describe-problem';

interface LoginProps {
  readonly api: ApiClient;
  readonly t: Messages;
  /** The session ended while somebody worked. */
  readonly hasEnded: boolean;
  readonly onSignedIn: (session: Session) => void;
}

/** Asks for the key. It is sent once, and the page keeps no copy. */
export function Login({ api, t, hasEnded, onSignedIn }: LoginProps): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string>();
  const [isWorking, setWorking] = useState(false);
  useEffect(() => {
    document.title = `${t.shell.login.title} – ${t.shell.product}`;
    input.current?.focus();
  }, [t]);

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? '';
    if (key === '' || isWorking) return;
    setWorking(true);
    try {
      onSignedIn(await api.post<Session>('session', { key }));
    } catch (error) {
      setProblem(refusalOf(toProblem(error), t));
      setWorking(false);
      input.current?.select();
    }
  };

  return (
    <main class="login">
      <form class="login-card" onSubmit={(event) => void submit(event)}>
        <p class="brand">{t.shell.product}</p>
        <h1>{t.shell.login.title}</h1>
        {hasEnded && <p class="note note-warn">{t.shell.login.ended}</p>}
        <Field label={t.shell.login.key} hint={t.shell.login.hint} problem={problem}>
          {(ids) => <input {...ids} ref={input} type="password" name="key" autoComplete="current-password" required />}
        </Field>
        <button type="submit" class="primary" aria-disabled={isWorking}>
          {t.shell.login.submit}
        </button>
      </form>
    </main>
  );
}

function refusalOf(problem: ApiProblem, t: Messages): string {
  if (problem.status === 401) return t.shell.login.wrong;
  return problem.status === 429 ? t.shell.login.tooMany : describeProblem(problem, t);
}

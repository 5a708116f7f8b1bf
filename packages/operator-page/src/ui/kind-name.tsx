import { type JSX } from 'preact';
import { nameOf } from '../i18n/language';
import { useApp } from '../session/app-context';

/** What a kind of timeout is called; hosts have kinds of their own, which are shown as they are. */
export function KindName({ kind }: { kind: string }): JSX.Element {
  const { t } = useApp();
  return <span title={kind}>{nameOf(t.domain.kinds, kind)}</span>;
}

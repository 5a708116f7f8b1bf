import { type JSX } from 'preact';

interface PagerProps {
  readonly first: { readonly label: string; readonly href: string } | undefined;
  readonly next: { readonly label: string; readonly href: string } | undefined;
}

/** Links to the first and the next page of a list; the browser's own button leads back. */
export function Pager({ first, next }: PagerProps): JSX.Element | null {
  if (!first && !next) return null;
  return (
    <p class="pager">
      {first && <a href={first.href}>{first.label}</a>}
      {next && <a href={next.href}>{next.label}</a>}
    </p>
  );
}

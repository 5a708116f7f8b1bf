import { type ComponentChildren, type JSX } from 'preact';
import { useId } from 'preact/hooks';

interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A part of a view, with a heading that screen readers can jump to. */
export function Panel({ title, aside, class: name = '', children }: PanelProps): JSX.Element {
  const id = useId();
  return (
    <section class={`panel ${name}`} aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {aside && <div class="panel-aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

import { type TopologyNames } from '../rabbit';
import { resolveLadderShape, type LadderShape } from './ladder-shape';

/**
 * Names of a ladder's exchanges and queues. A queue's arguments cannot be changed, so every dimension that differs from
 * the default is part of the name: `<p>.delay.1.05` by default, `<p>.delay-b4-u50-classic.1.05` otherwise. After a
 * change of dimensions, the old ladder still delivers its waiting messages alongside the new one.
 */
export class LadderNames {
  /** Start of every name. */
  readonly stem: string;

  constructor(
    names: TopologyNames,
    private readonly shape: LadderShape,
  ) {
    this.stem = names.delay + suffixOf(shape);
  }

  /** Topic exchange where every wait ends. The routing key consists of all digits and the kind. */
  get delivery(): string {
    return `${this.stem}.delivery`;
  }

  /** Topic exchange of one digit position. Below position 0 is the delivery exchange. */
  level(position: number): string {
    return position < 0 ? this.delivery : `${this.stem}.${position}`;
  }

  queue(position: number, value: number): string {
    return `${this.level(position)}.${String(value).padStart(2, '0')}`;
  }

  /** Routing key of a wake-up: the digits, most significant first, then the kind. */
  key(digits: readonly number[], kind: string): string {
    return `${digits.toReversed().join('.')}.${kind}`;
  }

  /** Pattern of the routing keys that have `value` at `position`. */
  digitPattern(position: number, value: number): string {
    return `${'*.'.repeat(this.shape.keyWidth - 1 - position)}${value}.#`;
  }

  /** Pattern of the routing keys of exactly this kind. `#.b` would also match those of kind `a.b`. */
  kindPattern(kind: string): string {
    return `${'*.'.repeat(this.shape.keyWidth)}${kind}`;
  }
}

function suffixOf({ base, unitMs, queueType }: LadderShape): string {
  const usual = resolveLadderShape();
  const measures = base === usual.base && unitMs === usual.unitMs ? '' : `-b${base}-u${unitMs}`;
  return queueType === usual.queueType ? measures : `${measures}-${queueType}`;
}

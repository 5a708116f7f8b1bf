import { type JSX } from 'preact';
import { useApp } from '../session/app-context';
import { type Column } from './data-table';

/** Which rows of a list are chosen, by their keys. */
export interface Choice {
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (chosen: ReadonlySet<string>) => void;
}

interface Choosable<Row> extends Choice {
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What a screen reader calls the row. */
  readonly nameOf: (row: Row) => string;
}

/** A column of boxes to choose rows, with one for all of the page. */
export function choiceColumn<Row>({ rows, keyOf, nameOf, ...choice }: Choosable<Row>): Column<Row> {
  return {
    title: <AllBox keys={rows.map(keyOf)} {...choice} />,
    cell: (row) => <ChoiceBox name={nameOf(row)} keys={[keyOf(row)]} {...choice} />,
  };
}

/** On a phone, where a list has no head, it has its name beside it. */
function AllBox(props: ChoiceBoxProps): JSX.Element {
  const { t } = useApp();
  return (
    <label class="choose-all">
      <ChoiceBox {...props} />
      <span aria-hidden="true">{t.attention.chooseAll}</span>
    </label>
  );
}

interface ChoiceBoxProps extends Choice {
  /** Undefined: all rows. */
  readonly name?: string;
  readonly keys: readonly string[];
}

function ChoiceBox({ name, keys, chosen, onChoose }: ChoiceBoxProps): JSX.Element {
  const { t } = useApp();
  const toggle = (isOn: boolean): void => {
    const others = [...chosen].filter((key) => !keys.includes(key));
    onChoose(new Set(isOn ? [...others, ...keys] : others));
  };
  return (
    <input
      type="checkbox"
      aria-label={name === undefined ? t.attention.chooseAll : t.attention.choose(name)}
      checked={keys.every((key) => chosen.has(key))}
      onChange={(event) => toggle(event.currentTarget.checked)}
    />
  );
}

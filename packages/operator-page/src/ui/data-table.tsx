import { type ComponentChildren, type JSX } from 'preact';

export interface Column<Row> {
  readonly title: ComponentChildren;
  /** Names the value on a phone, where each row is a card; undefined: the value needs no name. */
  readonly label?: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
}

interface DataTableProps<Row> {
  /** For screen readers. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** Instead of a table without rows. */
  readonly empty: string;
}

/** A table that becomes a list of cards on a phone. The roles keep it a table for screen readers there. */
export function DataTable<Row>({ caption, columns, rows, rowKey, empty }: DataTableProps<Row>): JSX.Element {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="table-frame">
      <table role="table">
        <caption class="sr-only">{caption}</caption>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ title, isNumber }) => (
              <th role="columnheader" scope="col" class={isNumber ? 'right' : ''}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <tr role="row" key={rowKey(row)}>
              {columns.map(({ cell, isNumber, label }) => (
                <td role="cell" class={isNumber ? 'right' : ''} data-label={label}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A column whose title also names its values on a phone. */
export function column<Row>(title: string, cell: Column<Row>['cell'], isNumber = false): Column<Row> {
  return { title, label: title, cell, isNumber };
}

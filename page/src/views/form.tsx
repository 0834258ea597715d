/** Fields of a form, for MCP servers and extensions. */

import { signal, type Signal } from "@preact/signals";
import type { VNode } from "preact";
import type { DialogField } from "../wire.ts";

/** Values as they are typed; `valueOf` makes what is sent. */
export type FormValues = Signal<Record<string, string | boolean | readonly string[]>>;

export function initialValues(fields: readonly DialogField[]): FormValues {
  return signal(Object.fromEntries(fields.map((field) => [field.name, initial(field)])));
}

function initial(field: DialogField): string | boolean | readonly string[] {
  const value = field.default;
  if (field.kind === "yes") return value === true || value === "true";
  if (field.kind === "choices") return Array.isArray(value) ? value.map(String) : [];
  return value === undefined || value === null ? "" : String(value);
}

/** What is sent: numbers as numbers, and no entry for fields that are empty. */
export function contentOf(fields: readonly DialogField[], values: FormValues): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const value = values.value[field.name];
    if (value === "" || value === undefined) continue;
    content[field.name] = field.kind === "number" || field.kind === "integer" ? Number(value) : value;
  }
  return content;
}

export function Fields({ fields, values, id }: { fields: readonly DialogField[]; values: FormValues; id: string }): VNode {
  return <div class="fields">{fields.map((field) => <Field field={field} values={values} id={`${id}-${field.name}`} />)}</div>;
}

function Field({ field, values, id }: { field: DialogField; values: FormValues; id: string }): VNode {
  const set = (value: string | boolean | readonly string[]) => (values.value = { ...values.value, [field.name]: value });
  const value = values.value[field.name];
  const label = (
    <>
      {field.title || field.name}
      {field.required && <span class="required"> (required)</span>}
    </>
  );
  const detail = field.description && <span class="option-detail" id={`${id}-detail`}>{field.description}</span>;
  if (field.kind === "yes") {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => set(event.currentTarget.checked)} /> {label}
        {detail}
      </label>
    );
  }
  const isNumber = field.kind === "number" || field.kind === "integer";
  if (field.kind === "choices") return <Many field={field} chosen={(value as readonly string[]) ?? []} onChange={set} />;
  return (
    <label class="field">
      {label}
      {field.kind === "choice" ? (
        <select value={String(value)} required={field.required ?? false} onChange={(event) => set(event.currentTarget.value)}>
          <option value="">–</option>
          {field.choices?.map((choice, at) => <option value={choice}>{field.labels?.[at] ?? choice}</option>)}
        </select>
      ) : (
        <input
          {...(isNumber ? { type: "number", step: field.kind === "integer" ? "1" : "any" } : { type: "text" })}
          required={field.required ?? false}
          value={String(value)}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
      {detail}
    </label>
  );
}

function Many({ field, chosen, onChange }: { field: DialogField; chosen: readonly string[]; onChange: (next: readonly string[]) => void }): VNode {
  const toggle = (choice: string, on: boolean) => onChange(on ? [...chosen, choice] : chosen.filter((each) => each !== choice));
  return (
    <fieldset class="question">
      <legend>{field.title || field.name}</legend>
      {field.choices?.map((choice, at) => (
        <label class="option">
          <input type="checkbox" checked={chosen.includes(choice)} onChange={(event) => toggle(choice, event.currentTarget.checked)} />
          <span>{field.labels?.[at] ?? choice}</span>
        </label>
      ))}
    </fieldset>
  );
}

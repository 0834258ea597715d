/** A dialog of an extension, of any kind. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { toLine, toLines } from "../text/styled.ts";
import { Line, Lines } from "../text/styled_view.tsx";
import type { DialogRequest } from "../wire.ts";
import { AddressToOpen } from "./address.tsx";
import { contentOf, Fields, initialValues } from "./form.tsx";
import { answer, type Choice, Choices } from "./requests.tsx";
import { Visible } from "./visible_text.tsx";

type Option = NonNullable<DialogRequest["options"]>[number];

export function ExtensionDialog({ request }: { request: DialogRequest }): VNode {
  const send = (value: unknown) => void answer("answer_dialog", request, { value });
  const cancel = () => void answer("answer_dialog", request, { cancelled: true });
  return (
    <div class="extension-dialog" onKeyDown={(event) => event.key === "Escape" && cancel()}>
      <p class="owner">
        <span class="tag">{request.extension}</span>
        {request.timeout_s ? <Countdown seconds={request.timeout_s} /> : null}
      </p>
      <h2><Visible text={request.title} oneLine /></h2>
      {request.message !== undefined && <Lines lines={toLines(request.message)} />}
      <Kind request={request} send={send} cancel={cancel} />
    </div>
  );
}

interface KindProps {
  request: DialogRequest;
  send: (value: unknown) => void;
  cancel: () => void;
}

function Kind(props: KindProps): VNode {
  const { request, send, cancel } = props;
  switch (request.kind) {
    case "confirm": {
      const yes: Choice = { label: request.yes || "Yes", run: () => send(true) };
      const no: Choice = { label: request.no || "No", run: () => send(false) };
      (request.default === false ? no : yes).kind = "primary";
      return <Choices choices={[yes, no]}><Cancel onClick={cancel} /></Choices>;
    }
    case "url":
      return (
        <>
          <AddressToOpen address={request.url ?? ""} onOpen={() => send(true)} />
          <div class="row-of-buttons"><Cancel onClick={cancel} /></div>
        </>
      );
    case "select":
      return <Select {...props} />;
    case "choose":
      return <Choose {...props} />;
    case "form":
      return <Form {...props} />;
    default:
      return <Input {...props} />;
  }
}

function Cancel({ onClick }: { onClick: () => void }): VNode {
  return <button type="button" class="quiet" onClick={onClick}>Cancel</button>;
}

/** Options below their headings. */
function grouped(options: readonly Option[]): [string, Option[]][] {
  const groups = new Map<string, Option[]>();
  for (const option of options) groups.set(option.group ?? "", [...(groups.get(option.group ?? "") ?? []), option]);
  return [...groups];
}

function OptionText({ option }: { option: Option }): VNode {
  return (
    <span>
      <span class="option-label">{option.label === undefined ? <Visible text={option.value} oneLine /> : <Line line={toLine(option.label)} />}</span>
      {option.description && <span class="option-detail">{option.description}</span>}
    </span>
  );
}

function Options({ request, type, chosen, onChange }: { request: DialogRequest; type: "radio" | "checkbox"; chosen: readonly string[]; onChange: (value: string, on: boolean) => void }): VNode {
  return (
    <div class="options">
      {grouped(request.options ?? []).map(([group, options]) => (
        <div role="group" aria-label={group || "options"}>
          {group && <p class="group">{group}</p>}
          {options.map((option) => (
            <label class="option">
              <input type={type} name={request.request_id} checked={chosen.includes(option.value)} disabled={option.disabled ?? false} onChange={(event) => onChange(option.value, event.currentTarget.checked)} />
              <OptionText option={option} />
            </label>
          ))}
        </div>
      ))}
    </div>
  );
}

function Select({ request, send, cancel }: KindProps): VNode {
  const chosen = useSignal(typeof request.default === "string" ? request.default : "");
  return (
    <form onSubmit={(event) => { event.preventDefault(); if (chosen.value) send(chosen.value); }}>
      <Options request={request} type="radio" chosen={[chosen.value]} onChange={(value) => (chosen.value = value)} />
      <div class="row-of-buttons">
        <button type="submit" class="primary" disabled={!chosen.value}>Choose</button>
        <Cancel onClick={cancel} />
      </div>
    </form>
  );
}

function Choose({ request, send, cancel }: KindProps): VNode {
  const chosen = useSignal<readonly string[]>(Array.isArray(request.default) ? request.default.map(String) : []);
  const change = (value: string, on: boolean) => {
    chosen.value = on ? [...chosen.value, value] : chosen.value.filter((each) => each !== value);
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); send(chosen.value); }}>
      <Options request={request} type="checkbox" chosen={chosen.value} onChange={change} />
      <div class="row-of-buttons">
        <button type="submit" class="primary">Choose</button>
        <Cancel onClick={cancel} />
      </div>
    </form>
  );
}

function Input({ request, send, cancel }: KindProps): VNode {
  const text = useSignal(request.text ?? (typeof request.default === "string" ? request.default : ""));
  const common = {
    "aria-label": request.title,
    placeholder: request.placeholder ?? "",
    value: text,
    onInput: (event: { currentTarget: { value: string } }) => (text.value = event.currentTarget.value),
  };
  return (
    <form onSubmit={(event) => { event.preventDefault(); send(text.value); }}>
      {request.kind === "editor" ? <textarea rows={8} {...common} /> : <input type="text" {...common} />}
      <div class="row-of-buttons">
        <button type="submit" class="primary">Send</button>
        <Cancel onClick={cancel} />
      </div>
    </form>
  );
}

function Form({ request, send, cancel }: KindProps): VNode {
  const fields = request.fields ?? [];
  const values = useMemo(() => initialValues(fields), []);
  return (
    <form onSubmit={(event) => { event.preventDefault(); send(contentOf(fields, values)); }}>
      <Fields fields={fields} values={values} id={request.request_id} />
      <div class="row-of-buttons">
        <button type="submit" class="primary">Send</button>
        <Cancel onClick={cancel} />
      </div>
    </form>
  );
}

function Countdown({ seconds }: { seconds: number }): VNode {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    const timer = setInterval(() => setLeft((now) => Math.max(now - 1, 0)), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span class="muted small" aria-hidden="true">{left} s left</span>;
}

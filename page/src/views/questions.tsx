/** Questions of the model: options, several of them, or the user's own words. */

import { useSignal } from "@preact/signals";
import type { VNode } from "preact";
import type { QuestionRequest, UserQuestion } from "../wire.ts";
import { answer } from "./requests.tsx";

interface Given {
  chosen: readonly string[];
  own: string;
}

export function Questions({ request }: { request: QuestionRequest }): VNode {
  const given = useSignal<readonly Given[]>(request.questions.map(() => ({ chosen: [], own: "" })));
  const change = (at: number, next: Given) => (given.value = given.value.with(at, next));
  const send = () => {
    const answers = given.value.map((each) => [...each.chosen, ...(each.own.trim() ? [each.own.trim()] : [])]);
    void answer("answer_questions", request, { answers });
  };
  const isEmpty = given.value.every((each) => !each.chosen.length && !each.own.trim());
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {request.questions.map((question, at) => (
        <Question question={question} number={at} given={given.value[at] as Given} onChange={(next) => change(at, next)} id={request.request_id} />
      ))}
      <div class="row-of-buttons">
        <button type="submit" class="primary" disabled={isEmpty}>Answer</button>
        <button type="button" onClick={() => void answer("answer_questions", request, { declined: true })}>Do not answer</button>
      </div>
    </form>
  );
}

interface QuestionProps {
  question: UserQuestion;
  number: number;
  given: Given;
  id: string;
  onChange: (next: Given) => void;
}

function Question({ question, number, given, id, onChange }: QuestionProps): VNode {
  const options = question.options ?? [];
  const toggle = (label: string, on: boolean) => {
    const rest = question.multiple ? given.chosen.filter((each) => each !== label) : [];
    onChange({ chosen: on ? [...rest, label] : rest, own: question.multiple ? given.own : "" });
  };
  return (
    <fieldset class="question">
      <legend>
        {question.header && <span class="tag">{question.header}</span>}
        {question.question}
      </legend>
      {options.map((option) => (
        <label class="option">
          <input
            type={question.multiple ? "checkbox" : "radio"}
            name={`${id}-${number}`}
            checked={given.chosen.includes(option.label)}
            onChange={(event) => toggle(option.label, event.currentTarget.checked)}
          />
          <span>
            <span class="option-label">{option.label}</span>
            {option.description && <span class="option-detail">{option.description}</span>}
          </span>
        </label>
      ))}
      <label class="own">
        {options.length ? "In your own words" : "Answer"}
        <input
          type="text"
          value={given.own}
          onInput={(event) => onChange({ chosen: question.multiple ? given.chosen : [], own: event.currentTarget.value })}
        />
      </label>
    </fieldset>
  );
}

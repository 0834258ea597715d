// The model asks the user: one form with several questions, and the answers as the result.

import { Extension, Unavailable } from "./zot-ext/index.ts";

const ext = new Extension("question-form", "1.0.0");
const schema = {
  type: "object",
  required: ["title", "questions"],
  properties: {
    title: { type: "string" },
    questions: {
      type: "array",
      minItems: 1,
      maxItems: 8,
      items: {
        type: "object",
        required: ["name", "question"],
        properties: {
          name: { type: "string", description: "a key for the answer" },
          question: { type: "string" },
          choices: { type: "array", items: { type: "string" }, description: "without it the user types a text" },
          several: { type: "boolean", description: "more than one choice" },
        },
      },
    },
  },
} as const;

type Question = { name: string; question: string; choices?: string[]; several?: boolean };

const field = ({ name, question, choices, several }: Question): { name: string; kind: "text" | "choice" | "choices" } => ({
  name,
  kind: choices ? (several ? "choices" : "choice") : "text",
  ...{ title: question, ...(choices ? { choices } : {}) },
});

ext.tool("ask_form", "Ask the user several questions at once.", schema, async (args, ctx) => {
  const { title, questions } = args as unknown as { title: string; questions: Question[] };
  try {
    const answers = await ctx.form(title.slice(0, 200), questions.map(field));
    if (!answers) return ctx.error("the user closed the form");
    return questions.map(({ name, question }) => `${question}: ${JSON.stringify(answers[name] ?? null)}`).join("\n");
  } catch (error) {
    if (error instanceof Unavailable) return ctx.error("no user can be asked; decide yourself and say what you assumed");
    throw error;
  }
});

await ext.run();

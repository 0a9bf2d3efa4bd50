import { file } from '../signs.ts'
import type { App, Plan, Stack } from '../stack.ts'

/** The language of a project by the program in its Procfile. */
const languages: readonly [RegExp, string][] = [
  [/^(?:python3?|gunicorn|uvicorn|hypercorn|daphne|flask|celery|streamlit)\b/, 'python'],
  [/^(?:node|npm|npx|yarn|pnpm)\b/, 'javascript'],
  [/^(?:bundle|ruby|rails|puma|rackup)\b/, 'ruby'],
  [/^(?:php|vendor\/bin)\b/, 'php'],
  [/^java\b/, 'java'],
]

/** A project with only a Procfile; `applyProcfile` sets the start command, as for every stack. */
export const procfileOnly: readonly Stack[] = [
  { framework: 'procfile', when: file('Procfile', 'names the processes'), plan: procfilePlan },
]

async function procfilePlan({ folder }: App): Promise<Plan> {
  const line = /^web:[ \t]*([^\r\n]{1,200})/m.exec((await folder.text('Procfile')) ?? '')?.[1] ?? ''
  const language = languages.find(([program]) => program.test(line))?.[1] ?? languageOfFiles(folder.files)
  return { type: 'app', language, port: language === 'python' ? 8000 : 3000 }
}

const endings: readonly [string, string][] = [
  ['.py', 'python'],
  ['.rb', 'ruby'],
  ['.php', 'php'],
  ['.js', 'javascript'],
]

const languageOfFiles = (files: readonly string[]) =>
  endings.find(([ending]) => files.some((name) => name.endsWith(ending)))?.[1] ?? null

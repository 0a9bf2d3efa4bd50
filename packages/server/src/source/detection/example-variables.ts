import { parseEnv } from 'node:util'
import { dig, recordOf, textOf } from '../values.ts'
import type { ExampleVariables } from './detection.ts'
import type { Folder } from './folder.ts'

/** Templates of a `.env` file that projects commit, by precedence. */
const templates = [
  '.env.example',
  '.env.sample',
  '.env.template',
  '.env.dist',
  '.env.local.example',
  'env.example',
  'example.env',
]
const maxText = 100_000
const maxVariables = 100
const maxValue = 1_000
const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,99}$/
/** Variables that Berth sets itself: the value of a developer's machine would replace them. `BUILDPACK_URL` is for Heroku only. */
const notOffered = new Set(['PORT', 'HOST', 'HOSTNAME', 'NODE_ENV', 'BUILDPACK_URL'])

/** The variables that the project's template of a `.env` file names, with their example values; null without a template. */
export async function exampleVariables(folder: Folder): Promise<ExampleVariables | null> {
  const name = templates.find((template) => folder.has(template))
  if (!name) return appJsonVariables(folder)
  const text = ((await folder.text(name)) ?? '').slice(0, maxText)
  // `parseEnv` takes `export NAME=` without a value as a part of the name.
  return namedVariables(folder.full(name), parseEnv(text.replace(/^[ \t]*export[ \t]+/gm, '')))
}

/** The variables that app.json of Heroku asks for. Optional ones without a value are left out. */
async function appJsonVariables(folder: Folder): Promise<ExampleVariables | null> {
  const env = recordOf(dig(await folder.json('app.json'), 'env'))
  const asked = Object.entries(env).filter(
    ([, one]) => typeof one === 'string' || dig(one, 'required') !== false || dig(one, 'value'),
  )
  return namedVariables(
    folder.full('app.json'),
    Object.fromEntries(asked.map(([key, one]) => [key, textOf(one) ?? textOf(dig(one, 'value')) ?? ''])),
  )
}

function namedVariables(file: string, values: Readonly<Record<string, string | undefined>>): ExampleVariables | null {
  const variables = Object.entries(values)
    .filter(([key]) => namePattern.test(key) && !notOffered.has(key))
    .slice(0, maxVariables)
    .map(([key, value = '']) => ({ key, value: isPlain(value) ? value : '' }))
  return variables.length > 0 ? { file, variables } : null
}

const isPlain = (value: string) => value.length <= maxValue && !/[\0-\x08\x0e-\x1f]/.test(value)

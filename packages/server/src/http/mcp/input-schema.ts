import { type AnyRoute, type ModuleName, needsConfirmation } from '@berth/contract'
import { KindExpander } from '../openapi-kinds.ts'
import { pathParameters, queryParameters } from '../openapi-parameters.ts'
import { withTexts } from '../openapi-texts.ts'

/** The arguments of a tool: the path, the query and the body of its route in one flat object. */
export interface InputSchema {
  json: object
  /** The part of the request that each argument belongs to. */
  parts: ReadonlyMap<string, ArgumentPart>
}

/** `own`: an argument of the tool itself, such as `maxSeconds`. */
export type ArgumentPart = 'path' | 'query' | 'body' | 'own'

export const maxStreamSeconds = 60
export const defaultStreamSeconds = 20

interface Parameter {
  name: string
  required: boolean
  description?: string
  schema: object
}

export function inputSchemaOf(row: AnyRoute, module: ModuleName): InputSchema {
  const kinds = new KindExpander()
  const properties: Record<string, object> = {}
  const required: string[] = []
  const parts = new Map<string, ArgumentPart>()
  const add = (part: ArgumentPart, name: string, schema: object, isRequired: boolean) => {
    // A query field that the body repeats has the same meaning.
    if (parts.has(name) && part !== 'body') throw new Error(`${row.at}: two arguments are named ${name}`)
    properties[name] = schema
    parts.set(name, part)
    if (isRequired && !required.includes(name)) required.push(name)
  }
  const parameters = { path: pathParameters(row.path) as Parameter[], query: queryParameters(row, module) as Parameter[] }
  for (const [part, list] of Object.entries(parameters))
    for (const { name, required, description, schema } of list)
      add(part as 'path' | 'query', name, { ...schema, ...(description ? { description } : {}) }, required)
  for (const [name, schema] of Object.entries(bodyFields(row, module, kinds)))
    add('body', name, schema, (row.body.required ?? []).includes(name))
  for (const [name, schema] of Object.entries(ownArguments(row))) add('own', name, schema, false)
  const definitions = Object.keys(kinds.components).length > 0 ? { $defs: kinds.components } : {}
  const json = { type: 'object', properties, required, additionalProperties: false, ...definitions }
  return { json: withLocalReferences(json), parts }
}

/** Expands the fields one by one. Tool schemas of language models may not have anyOf/oneOf at the top level. */
function bodyFields(row: AnyRoute, module: ModuleName, kinds: KindExpander): Record<string, object> {
  if (!row.body) return {}
  const { properties = {} } = withTexts(row.body, module) as { properties?: Record<string, object> }
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, kinds.expand(schema, `${name}`) as object]))
}

function ownArguments(row: AnyRoute): Record<string, object> {
  const stream = {
    maxSeconds: {
      type: 'integer',
      minimum: 1,
      maximum: maxStreamSeconds,
      default: defaultStreamSeconds,
      description: 'How long events are collected',
    },
    lastEventId: { type: 'string', maxLength: 200, description: 'Continue after this event, from an earlier result' },
  }
  const confirmation = {
    confirmationCode: {
      type: 'string',
      maxLength: 40,
      description: 'The first call, without this argument, returns a code. Ask the user to type it, then call again with it.',
    },
  }
  const isConfirmed = row.confirm !== undefined || needsConfirmation(row, undefined)
  return { ...(row.stream ? stream : {}), ...(isConfirmed ? confirmation : {}) }
}

const withLocalReferences = (schema: object): object =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/schemas/', '"#/$defs/')) as object

import { CatalogueCategory, CatalogueTemplate } from '@berth/contract'
import { type Static, Type } from 'typebox'

/** The schema of `template.yaml`, the header of a template. Unknown fields are refused. */

const line = (maximum: number) => Type.String({ minLength: 1, maxLength: maximum, pattern: '^[^\\n]*$' })
const Name = Type.String({ pattern: '^[A-Z][A-Z0-9_]*$' })
const closed = { additionalProperties: false }
const Url = Type.String({ pattern: '^https://[^\\s]+$' })

/**
 * A variable of the new project. `value` is its default, and may contain `${NAME}` of an earlier variable, and `${URL}` or
 * `${HOSTNAME}` of the project; `generate` is a random value.
 */
export const HeaderVariable = Type.Object(
  {
    name: Name,
    description: line(200),
    value: Type.Optional(Type.String({ maxLength: 1000 })),
    generate: Type.Optional(
      Type.Object(
        {
          kind: Type.Union([Type.Literal('password'), Type.Literal('hex'), Type.Literal('base64')]),
          /** Characters of a password, bytes of the others. */
          length: Type.Integer({ minimum: 8, maximum: 128 }),
        },
        closed,
      ),
    ),
    isSecret: Type.Optional(Type.Boolean()),
    pattern: Type.Optional(line(200)),
  },
  closed,
)
export type HeaderVariable = Static<typeof HeaderVariable>

/** Variables of a linked project. Values may contain `${NAME}` of the variables, and `${HOST}` and `${PORT}` of the service. */
const Connection = Type.Object(
  {
    service: line(63),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    variables: Type.Record(Name, Type.String({ minLength: 1, maxLength: 1000 }), { minProperties: 1 }),
  },
  closed,
)

const { links } = CatalogueTemplate.properties

export const Header = Type.Object(
  {
    title: line(60),
    description: line(300),
    category: CatalogueCategory,
    version: line(40),
    links: Type.Object(Object.fromEntries(Object.keys(links.properties).map((name) => [name, Url])), closed),
    minimumMemoryMb: Type.Integer({ minimum: 32, maximum: 65_536 }),
    variables: Type.Array(HeaderVariable, { maxItems: 50 }),
    /** The service that gets the project's address; absent: none does. */
    exposed: Type.Optional(line(63)),
    /** Path that responds with 2xx on the exposed service once it is ready. */
    healthPath: Type.Optional(Type.String({ pattern: '^/' })),
    /** Time that the first start needs, in seconds. */
    startSeconds: Type.Optional(Type.Integer({ minimum: 10, maximum: 600 })),
    /** Services that are healthy once their port is open, because their image contains no program for a health check command. */
    healthByPort: Type.Optional(Type.Array(line(63))),
    connection: Type.Optional(Connection),
    backup: Type.Optional(
      Type.Object(
        {
          cronExpression: line(100),
          proveEveryDays: Type.Integer({ minimum: 1, maximum: 365 }),
          retainCount: Type.Integer({ minimum: 1, maximum: 1000 }),
        },
        closed,
      ),
    ),
    upgradeNotes: line(600),
  },
  closed,
)
export type Header = Static<typeof Header>

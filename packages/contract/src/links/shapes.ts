import { type Static, Type } from 'typebox'
import { Id, maybe, nullable, Time } from '../shape.ts'

export const Link = Type.Object({
  id: Id,
  projectId: Id,
  environment: Type.String({ description: 'Slug of the environment that gets the variables' }),
  serviceProjectId: Type.String({ description: 'Id of the linked service, which is a project' }),
  service: Type.Object(
    { name: Type.String({ description: 'Name of the project' }), slug: Type.String({ description: 'Slug of the project' }) },
    { description: 'The linked service' },
  ),
  prefix: { ...maybe, description: 'Text in front of the name of each variable; null: none' },
  host: Type.String({ description: 'Host name of the service on the private network' }),
  variables: Type.Array(Type.String(), { description: 'Names of the variables; values are never shown' }),
  createdAt: Time,
})
export type Link = Static<typeof Link>

export const LinkBody = Type.Object({
  serviceProjectId: Type.String({ minLength: 1, maxLength: 64, description: 'Id of the service, a project of the organisation' }),
  prefix: Type.Optional({
    ...nullable(Type.String({ maxLength: 64, pattern: '^([A-Za-z_][A-Za-z0-9_]*)?$' })),
    description: 'Text in front of the name of each variable, such as `REPORTS_`',
  }),
  environment: Type.Optional({
    ...nullable(Type.String({ minLength: 1, maxLength: 100 })),
    description: 'Slug or id of the environment that gets the variables; default: production',
  }),
})
export type LinkBody = Static<typeof LinkBody>

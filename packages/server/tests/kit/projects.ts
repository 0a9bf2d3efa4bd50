import type { Method, Project } from '@berth/contract'
import { type Answer, type CallInput, call } from './call.ts'
import type { TestInstance } from './instance.ts'

/** A project made through the API. */
export async function makeProject(instance: TestInstance, token: string, body: object = {}): Promise<Project> {
  const answer = await call(instance, token, 'POST /projects', { body: { name: 'Shop', ...body } })
  if (answer.status !== 201) throw new Error(`the project was not created: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body.data
}

/** Calls below `/projects/:id` of one project: `on(project)('PATCH', '/env', { body })`. */
export const callsOn =
  (instance: TestInstance, token: string) =>
  ({ id }: { id: string }) =>
  (method: Method, path: '' | `/${string}`, body?: unknown, input: CallInput = {}): Promise<Answer> =>
    call(instance, token, `${method} /projects/:id${path}`, {
      ...input,
      params: { id, ...input.params },
      ...(body === undefined ? {} : { body }),
    })

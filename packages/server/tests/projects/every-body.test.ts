import { type AnyRoute, contract } from '@berth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { call } from '../kit/call.ts'
import { startInstance, type TestInstance } from '../kit/instance.ts'
import { makePeople, type People } from '../kit/people.ts'
import { callsOn, makeProject } from '../kit/projects.ts'
import { sampleBodies } from '../kit/sample-bodies.ts'

/** Accepted fields have an effect; any other field is rejected by name, or named in `warnings`. */

let instance: TestInstance
let people: People
let params: Record<string, string>
beforeAll(async () => {
  instance = await startInstance()
  people = await makePeople(instance)
  const project = await makeProject(instance, people.owner.token)
  const rule = { kind: 'ban', config: { ips: ['203.0.113.7'] } }
  const { id: ruleId } = (await callsOn(instance, people.owner.token)(project)('POST', '/route-rules', rule)).body.data
  params = { id: project.id, projectId: project.id, ruleId }
})
afterAll(() => instance.stop())

interface Property {
  type?: string | string[]
  anyOf?: Property[]
}
const rows = Object.values(contract.projects as Record<string, AnyRoute>).filter(({ body, here }) => body && !here)
const fieldsOf = ({ body }: AnyRoute) => (body as { properties: Record<string, Property> }).properties
const takesObject = ({ type, anyOf }: Property): boolean => [type].flat().includes('object') || !!anyOf?.some(takesObject)
const cases = rows.flatMap((row) => Object.entries(fieldsOf(row)).map(([field, schema]) => ({ at: row.at, field, schema })))

describe('bodies below /projects', () => {
  test.each(cases)('$at: 400 names $field if it has another type', async ({ at, field, schema }) => {
    const body = { ...sampleBodies[at], [field]: takesObject(schema) ? 7 : { not: 'it' } }
    const answer = await call(instance, people.owner.token, at as 'POST /projects', { params, body })
    expect([answer.status, answer.body.code, answer.body.field]).toEqual([400, 'validation_failed', field])
  })

  test.each(
    ['PATCH /projects/:id', 'POST /projects/:id/options', 'PATCH /projects/:id/resources', 'POST /projects/:id/environments'].map(
      (at) => ({ at }),
    ),
  )('$at: a misspelt field is named in `warnings`', async ({ at }) => {
    const body = { ...sampleBodies[at], buildComand: 'x' }
    const answer = await call(instance, people.owner.token, at as 'POST /projects', { params, body })
    expect([200, 201]).toContain(answer.status)
    expect(JSON.stringify(answer.body.warnings)).toContain('buildComand')
  })
})

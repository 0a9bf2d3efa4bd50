import { describe, expect, test } from 'vitest'
import { templateProblems } from './check-template.ts'
import { loadTemplates, templatesFolder } from './load-templates.ts'
import { newValues } from './new-values.ts'
import { readTemplate, TemplateInvalid } from './read-template.ts'

const templates = await loadTemplates(templatesFolder())

describe('a template of the catalogue', () => {
  test.each(templates)('$id names versions, volumes, health checks and its variables', (template) => {
    expect(templateProblems(template)).toEqual([])
  })

  test.each(templates)('$id gets a value for each variable, with different secrets each time', (template) => {
    const [one, other] = [1, 2].map(() => newValues(template, {}, { url: 'https://shop.example.test' }))
    expect(one?.map(({ key }) => key)).toEqual(template.variables.map(({ name }) => name))
    for (const [at, { value, isSecret }] of (one ?? []).entries()) {
      expect(value).not.toContain('${')
      if (isSecret) expect(other?.[at]?.value).not.toBe(value)
    }
  })
})

const header = {
  title: 'T',
  description: 'T',
  category: 'caches',
  version: '1.2',
  links: { website: 'https://t.example', docs: 'https://t.example', image: 'https://t.example' },
  minimumMemoryMb: 64,
  variables: [{ name: 'PASSWORD', description: 'P', generate: { kind: 'password', length: 32 } }],
  upgradeNotes: 'N',
}
const service = {
  image: 't:1.2.3',
  restart: 'always',
  environment: { PASSWORD: '$'.concat('{PASSWORD}') },
  expose: ['6379'],
  healthcheck: { test: ['CMD', 'true'] },
}
const read = (headerChanges: object, serviceChanges: object, more: object = {}) =>
  readTemplate({
    id: 't',
    header: JSON.stringify({ ...header, ...headerChanges }),
    compose: JSON.stringify({ services: { t: { ...service, ...serviceChanges } }, ...more }),
  })
const reference = (name: string) => `$\{${name}}`

describe('the template check', () => {
  test('accepts a complete template', () => {
    expect(templateProblems(read({}, {}))).toEqual([])
  })

  test.each<[string, object, object]>([
    ['t: t:latest does not name a version', {}, { image: 't:latest' }],
    ['t: t:8 does not name a version', {}, { image: 't:8' }],
    ['t: t:1.2-nightly does not name a version', {}, { image: 't:1.2-nightly' }],
    ['t has no health check', {}, { healthcheck: undefined }],
    ['t has no restart policy', {}, { restart: undefined }],
    ['./data is not a volume', {}, { volumes: ['./data:/data'] }],
    ['it has a volume and no backup policy', {}, { volumes: ['data:/data'] }],
    ['the value of URL contains more than a reference', {}, { environment: { URL: `a:${reference('PASSWORD')}` } }],
    [`a command contains --password=${reference('PASSWORD')}`, {}, { command: ['t', `--password=${reference('PASSWORD')}`] }],
    ['PASSWORD is not used', {}, { environment: {} }],
    ['x is not a service', { exposed: 'x' }, {}],
    [
      'the link variable A names NOTHING, which does not exist',
      { connection: { service: 't', port: 1, variables: { A: reference('NOTHING') } } },
      {},
    ],
  ])('reports: %s', (problem, headerChanges, serviceChanges) => {
    const template = read(headerChanges, serviceChanges, { volumes: { data: {} } })
    expect(templateProblems(template).join('; ')).toContain(problem.replace('./data', '/data'))
  })

  test.each<[string, object, object]>([
    ['template.yaml', { colour: 'red' }, {}],
    ['template.yaml', { category: 'toys' }, {}],
    ['template.yaml', { links: { ...header.links, docs: 'http://t.example' } }, {}],
    ['privileged', {}, { privileged: true }],
    ['compose.yaml', {}, { network_mode: 'host' }],
    ['compose.yaml', {}, { volumes: ['/etc:/data'] }],
  ])('refuses to read a template with a wrong %s: %j %j', (part, headerChanges, serviceChanges) => {
    expect(() => read(headerChanges, serviceChanges)).toThrow(TemplateInvalid)
    expect(() => read(headerChanges, serviceChanges)).toThrow(part)
  })
})

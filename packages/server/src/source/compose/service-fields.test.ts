import { describe, expect, test } from 'vitest'
import { gives, read, web } from './compose-case.ts'

describe('build', () => {
  const none = { dockerfile: null, dockerfileInline: null, args: {}, target: null }
  test('a path is the context', () => gives('build: ./api', { build: { ...none, context: 'api' } }))
  test('the long form, with the Dockerfile relative to the context', () =>
    gives('build: { context: ./api, dockerfile: ../docker/api.Dockerfile, target: run, args: { A: 1.10, B: x } }', {
      build: { ...none, context: 'api', dockerfile: 'docker/api.Dockerfile', target: 'run', args: { A: '1.10', B: 'x' } },
    }))
  test('args as a list take missing values from the environment', () =>
    gives(
      'build: { context: ., args: [A=1, TOKEN, GONE] }',
      { build: { ...none, context: '.', args: { A: '1', TOKEN: 't' } } },
      { env: { TOKEN: 't' } },
    ))
  test('an inline Dockerfile', () =>
    gives('build: { dockerfile_inline: "FROM scratch" }', { build: { ...none, context: '.', dockerfileInline: 'FROM scratch' } }))
  test('paths are relative to the folder of the file', () =>
    gives('build: ../api', { build: { ...none, context: 'api' } }, { directory: 'deploy' }))
})

describe('commands', () => {
  test('a list is argv', () =>
    gives('command: [node, "a b.js", 1.0]', { command: { kind: 'exec', argv: ['node', 'a b.js', '1.0'] } }))
  test('a string is kept as a shell line', () =>
    gives('command: npm run "start it"', { command: { kind: 'shell', line: 'npm run "start it"' } }))
  test('an empty list differs from null', () =>
    gives('entrypoint: []', { entrypoint: { kind: 'exec', argv: [] }, command: null }))
  test('null is null', () => gives('command: null', { command: null }))
})

describe('environment', () => {
  test('a mapping keeps values as written', () =>
    gives('environment: { A: 1.10, B: 007, C: true, D: "", E: 12345678901234567890, F: "x=y" }', {
      environment: { A: '1.10', B: '007', C: 'true', D: '', E: '12345678901234567890', F: 'x=y' },
    }))
  test('a list', () => gives('environment: ["A=1", "B=x=y", "C="]', { environment: { A: '1', B: 'x=y', C: '' } }))
  test('a key without a value is taken from the environment', () => {
    const file = web('environment: { GIVEN: , GONE: }', { env: { GIVEN: 'yes' } })
    expect(file.web.environment).toEqual({ GIVEN: 'yes' })
    expect(file.warnings).toEqual([{ path: 'services.web.environment.GONE', message: 'has no value and is ignored' }])
  })
  test('prototype keys are ordinary keys', () => {
    const file = web('environment: { __proto__: a, constructor: b }')
    expect(Object.entries(file.web.environment)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ])
    expect(({} as { a?: unknown }).a).toBeUndefined()
  })
  test('env files, short and long', () =>
    gives('env_file: [.env, { path: ./config/app.env, required: false }]', {
      envFiles: [
        { path: '.env', required: true },
        { path: 'config/app.env', required: false },
      ],
    }))
  test('one env file', () => gives('env_file: app.env', { envFiles: [{ path: 'app.env', required: true }] }))
})

describe('dependencies', () => {
  const other = '  db: { image: postgres }\n  job: { image: job }'
  test('the long form keeps the condition', () => {
    const file = web(
      `depends_on:
  db: { condition: service_healthy, restart: true }
  job: { condition: service_completed_successfully, required: false }`,
      {},
      other,
    )
    expect(file.web.dependsOn).toEqual([
      { service: 'db', condition: 'service_healthy', required: true },
      { service: 'job', condition: 'service_completed_successfully', required: false },
    ])
    expect(file.warnings).toEqual([])
  })
  test('a link is a dependency with an alias', () => {
    const file = web('links: [db, "job:worker"]', {}, other)
    expect(file.web.dependsOn.map((one) => one.service)).toEqual(['db', 'job'])
    expect(file.services.find(({ name }) => name === 'job')?.networks).toEqual([{ name: 'default', aliases: ['worker'] }])
    expect([file.warnings, file.refused]).toEqual([[], []])
  })
  test('an unknown service is refused, unless it is not required', () => {
    expect(web('depends_on: { gone: { required: false } }').refused).toEqual([])
    const file = web('depends_on: [gone]')
    expect(file.web.dependsOn).toEqual([])
    expect(file.refused).toEqual([{ path: 'services.web.depends_on', message: 'there is no service "gone"' }])
  })
  test('circular dependencies are refused', () => {
    const file = read(
      'services:\n  a: { image: x, depends_on: [b] }\n  b: { image: x, depends_on: [a] }\n  c: { image: x, depends_on: [d] }\n  d: { image: x }',
    )
    expect(file.refused).toEqual([{ path: 'services.a.depends_on', message: 'services depend on each other: a, b' }])
  })
})

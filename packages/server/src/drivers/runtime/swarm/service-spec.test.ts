import { expect, test } from 'vitest'
import { serviceSpec } from './service-spec.ts'

const specOf = (parts: { variables?: string[]; HostConfig?: object }) =>
  serviceSpec({
    settings: { name: 'berth-ins_1', Image: 'sha256:1', HostConfig: parts.HostConfig ?? {} },
    argv: ['node'],
    variables: parts.variables ?? [],
    healthcheck: undefined,
    secrets: [],
    network: 'net',
    nodeId: 'node',
    labels: {},
  }) as unknown as {
    TaskTemplate: { ContainerSpec: { Env: string[]; Mounts: { Target: string }[]; Privileges: unknown } }
  }

test('no text of a project is a template, which Swarm would execute', () => {
  const HostConfig = {
    Mounts: [{ Type: 'volume', Source: 'vol_1', Target: '/{{.Node.ID}}' }],
    Tmpfs: { '/{{{{x': 'size=1m' },
  }
  const { Env, Mounts } = specOf({ variables: ['A.B={{.Node.ID}} {{{ }} {', 'PORT=1'], HostConfig }).TaskTemplate.ContainerSpec
  expect(Env).toEqual(['A.B={{"{{"}}.Node.ID}} {{"{{"}}{ }} {', 'PORT=1'])
  expect(Mounts.map(({ Target }) => Target)).toEqual(['/{{"{{"}}.Node.ID}}', '/{{"{{"}}{{"{{"}}x'])
})

test('programs cannot gain privileges', () => {
  expect(specOf({}).TaskTemplate.ContainerSpec.Privileges).toEqual({ NoNewPrivileges: true })
})

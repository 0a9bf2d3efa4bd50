import { expect, test } from 'vitest'
import { readCompose, toProjectServices } from '../../../source/compose/index.ts'
import type { DeployedConfig } from './deployed.ts'
import { planDeployment } from './plan.ts'
import { withPlaceholders, withSecrets } from './snapshot.ts'

const env = { PASSWORD: 'hidden $1 "canary"', NAME: 'shop', EMPTY: '' }

test('a secret in a Compose file is not in the stored plan, and is inserted byte for byte when the plan runs', () => {
  const text = `
services:
  web:
    image: "web:\${NAME}"
    ports: ["3000"]
    command: [run, "--key=\${PASSWORD}"]
    environment:
      URL: "db://\${NAME}:\${PASSWORD:?needed}@db"
      LEVEL: "\${EMPTY:-info}"
    healthcheck: { test: [CMD, ping, "\${PASSWORD}"] }
`
  const file = readCompose(text, { folder: '/project', env: withPlaceholders(env, ['PASSWORD', 'EMPTY']) })
  expect(file).toMatchObject({ refused: [], missing: [] })
  const limits = { cpuCores: 1, memoryMb: 256, diskMb: 1000 }
  const config = {
    type: 'services',
    rootDirectory: null,
    port: 3000,
    services: toProjectServices(file).services,
    resources: { production: limits, build: limits },
  } as unknown as DeployedConfig
  const plan = planDeployment(config, null)
  expect(JSON.stringify(plan)).not.toContain('canary')
  expect(withSecrets(JSON.parse(JSON.stringify(plan)).units[0], env)).toMatchObject({
    image: 'web:shop',
    command: ['run', `--key=${env.PASSWORD}`],
    environment: { URL: `db://shop:${env.PASSWORD}@db`, LEVEL: 'info' },
    healthProgram: { argv: ['ping', env.PASSWORD] },
  })
})

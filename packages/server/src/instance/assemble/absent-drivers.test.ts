import { expect, test } from 'vitest'
import { Secret } from '../../platform/secrets/secret.ts'
import { readConfig } from '../config/config.ts'
import { absentParts } from './absent-drivers.ts'

const config = readConfig({
  HOME: '/home/berth',
  BERTH_GITEA_URL: 'https://git.example.test',
  BERTH_SMTP_URL: 'smtp://mail.example.test',
})

test('an API process connects to no git host, no webhook and no mail server', () => {
  const { gitHosts, deliveryDrivers, uploadStore } = absentParts(config)
  const host = gitHosts.create('gitea', gitHosts.configured.gitea)
  const access = { kind: 'token', id: 'x', token: new Secret('x') } as const
  const request = { method: 'POST', url: 'https://hook.example.test', headers: {}, body: '' }
  for (const call of [
    () => host.account(access),
    () => deliveryDrivers.webRequest.send(request as never),
    () => deliveryDrivers.mailer.send({} as never),
    () => uploadStore.remove('x', new AbortController().signal),
  ])
    expect(call).toThrow('was called in an API process')
})

test('an API process knows the settings that its rows show', () => {
  const { gitHosts, deliveryDrivers } = absentParts(config)
  const { provider, webUrl } = gitHosts.create('gitea', gitHosts.configured.gitea)
  expect({ provider, webUrl }).toEqual({ provider: 'gitea', webUrl: 'https://git.example.test' })
  expect(deliveryDrivers.mailer.configured).toBe(true)
})

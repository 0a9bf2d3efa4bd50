// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables are Compose's
import { expect, test } from 'vitest'
import { placeholder } from './placeholder.ts'
import { withVariables } from './service-variables.ts'
import { environmentOf } from './unit-environment.ts'

test('a variable named as ${NAME} goes to the services that name it, and to no other', () => {
  const { services, ownVariables } = withVariables(
    [
      { name: 'db', environment: { PASSWORD: '${DB_PASSWORD}', MODE: 'fast' } },
      { name: 'web', environment: { PASSWORD: '${WEB_PASSWORD}', TEXT: 'costs ${DB_PASSWORD}', NONE: '${UNKNOWN}' } },
      { name: 'plain' },
    ],
    ['DB_PASSWORD', 'WEB_PASSWORD', 'SHARED'],
  )
  expect(services.map(({ environment }) => environment)).toEqual([
    { PASSWORD: placeholder('DB_PASSWORD'), MODE: 'fast' },
    { PASSWORD: placeholder('WEB_PASSWORD'), TEXT: 'costs ${DB_PASSWORD}', NONE: '${UNKNOWN}' },
    undefined,
  ])
  expect(ownVariables).toEqual(['DB_PASSWORD', 'WEB_PASSWORD'])
  const env = { DB_PASSWORD: 'a', WEB_PASSWORD: 'b', SHARED: 'c' }
  expect(environmentOf({ environment: {} }, { ownVariables }, env)).toEqual({ SHARED: 'c' })
})

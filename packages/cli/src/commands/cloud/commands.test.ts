import type { CloudLink } from '@berth/contract'
import { expect, test } from 'vitest'
import { linkText } from './commands.ts'

test('without a link, the command that creates the token names the cloud', () => {
  expect(linkText({ linked: false } as CloudLink)).toBe(
    [
      'Not linked to a cloud.',
      'Create a token in the cloud:  berth --url <address> token create <name>',
      'Then link it, with the token on standard input:  berth cloud link <address>',
    ].join('\n'),
  )
})

import { expect, test } from 'vitest'
import { EgressFilter } from './egress-filter.ts'

test('no later check reports the egress filter as installed for an engine on another machine', async () => {
  const output: string[] = []
  const shell = async () => ({ exitCode: 0, stdout: '', stderr: '' }) as never
  const onChange = ({ message }: { message: string }) => output.push(message)
  const egressFilter = new EgressFilter({ instance: '0123456789abcdef', shell, isStrict: true, openPorts: [], onChange })
  await egressFilter.apply()
  egressFilter.disable('The engine is elsewhere')
  await egressFilter.apply()
  expect(egressFilter.state).toEqual({ inForce: false, message: 'The engine is elsewhere' })
  expect(output.at(-1)).toBe('The engine is elsewhere')
})

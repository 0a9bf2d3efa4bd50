import type { Service } from '@berth/contract'
import { expect, test } from 'vitest'
import { exposedService } from './exposed-service.ts'

const db: Service = { name: 'db', image: 'postgres:16', ports: [5432] }
const web: Service = { name: 'web', image: 'example/web', ports: [3000] }

test('requests go to the service that is marked, whatever it is', () => {
  expect(exposedService([web, { ...db, exposed: true }])?.name).toBe('db')
})

test('where none is marked they go to the first with a port that is no database', () => {
  expect(exposedService([db, { name: 'worker', image: 'example/worker' }, web])?.name).toBe('web')
  expect(exposedService([db])).toBeUndefined()
})

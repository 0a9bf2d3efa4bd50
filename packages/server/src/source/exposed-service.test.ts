import type { Service } from '@berth/contract'
import { expect, test } from 'vitest'
import { exposedService } from './exposed-service.ts'

const db: Service = { name: 'db', image: 'postgres:16', ports: [5432] }
const web: Service = { name: 'web', image: 'example/web', ports: [3000] }

test('requests go to the marked service, even if it is a database', () => {
  expect(exposedService([web, { ...db, exposed: true }])?.name).toBe('db')
})

test('without a mark, requests go to the first service with a port that is not a database', () => {
  expect(exposedService([db, { name: 'worker', image: 'example/worker' }, web])?.name).toBe('web')
  expect(exposedService([db])).toBeUndefined()
})

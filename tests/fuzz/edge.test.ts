import { afterAll } from 'vitest'
import { edgeKinds, stopEdge } from './edge.ts'
import { gateTests } from './gate-tests.ts'

afterAll(stopEdge)

gateTests('edge', edgeKinds, { seconds: 15 })

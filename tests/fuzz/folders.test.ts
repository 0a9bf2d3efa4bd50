import { kinds } from './folders.ts'
import { gateTests } from './gate-tests.ts'

gateTests('folders', kinds, { seconds: 12 })

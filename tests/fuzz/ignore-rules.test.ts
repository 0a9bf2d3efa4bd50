import { gateTests } from './gate-tests.ts'
import { kinds } from './ignore-rules.ts'

gateTests('ignore-rules', kinds, { seconds: 6 })

import { kinds } from './dockerfiles.ts'
import { gateTests } from './gate-tests.ts'

gateTests('dockerfiles', kinds, { seconds: 6 })

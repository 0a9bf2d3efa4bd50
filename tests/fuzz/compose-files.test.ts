import { kinds } from './compose-files.ts'
import { gateTests } from './gate-tests.ts'

gateTests('compose-files', kinds, { seconds: 7 })

import { gateTests } from './gate-tests.ts'
import { kinds } from './tarballs.ts'

gateTests('tarballs', kinds, { seconds: 8 })

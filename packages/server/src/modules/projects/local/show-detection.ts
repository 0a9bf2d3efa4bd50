import type { Detection } from '../../../source/detection/index.ts'

/** As the contract shows it. */
export const showDetection = (detection: Detection) => ({ ...detection, apps: detection.apps.map((app) => ({ ...app })) })

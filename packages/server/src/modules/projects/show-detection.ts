import type { Detection } from '../../detection/index.ts'

/** As the contract shows it. */
export const showDetection = (detection: Detection) => ({ ...detection, apps: detection.apps.map((app) => ({ ...app })) })

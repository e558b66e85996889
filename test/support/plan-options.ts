import type { PlanOptions } from '../../functions/plan/types.ts';
import { TEST_MANAGER } from './run.ts';

/** What a worker plans with unless it is told otherwise, under the manager of the tests. */
export const PLAN_OPTIONS: PlanOptions = {
  manager: TEST_MANAGER,
  adopt: [],
  maxEndpointsPerSlice: 100,
  workloadsWithoutStatus: 'not-ready',
  undeclaredPorts: 'refuse',
  workloadCidrsAllow: [],
  workloadCidrsDeny: [],
};

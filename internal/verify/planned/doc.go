// Package planned compares the forecasts of package forecast with the actions of the real controllers in simulated worlds
// without faults.
package planned

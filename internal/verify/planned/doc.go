// Package planned compares what package forecast says with what the real controllers do in simulated worlds without faults.
package planned

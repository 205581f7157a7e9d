// Package kubemark is a provider with simulated instances: a real kubelet over a fake container runtime
// ("hollow"), a Node that kwok keeps ready ("kwok"), or only calls of hooks ("memory"). It is the reference
// implementation of package provider and the default of Millwright.
//
// Instances are stored in a directory, where they survive a restart of the provider, or in memory. Config.Dir
// and the back ends are configured for the provider; everything else is configured by class, in the provider
// spec: see [Spec].
package kubemark

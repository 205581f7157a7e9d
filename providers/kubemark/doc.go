// Package kubemark is a provider whose instances are simulated: a real kubelet
// over a fake container runtime ("hollow"), a Node that kwok keeps ready
// ("kwok"), or nothing but calls to hooks ("memory"). It is the reference
// implementation of package provider and the default of Millwright.
//
// Instances are kept in a directory, where they survive a restart of the
// provider, or in memory. Beyond Config.Dir and the chosen back end, everything
// is set per class, in the provider spec: see [Spec].
package kubemark

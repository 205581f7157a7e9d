// Package arm simulates Azure: its Resource Manager with compute and network, long-running operations, the
// login endpoint that issues tokens, Resource Graph, and the scheduled events that instances read.
//
// The fake servers of Azure's own SDK (packages armcompute/fake, armnetwork/fake and armresourcegraph/fake)
// read requests and write answers; they know paths, parameters and models. This package has the resources,
// their changes over time, their quotas, and the errors with their texts.
//
// Sources: the models of azure-sdk-for-go (armcompute v7.2.0, API version 2025-04-01; armnetwork v6.2.0), the
// REST reference of Azure (long-running operations:
// https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations), the lists of error
// codes (https://learn.microsoft.com/azure/virtual-machines/error-codes-spot and
// .../troubleshoot/azure/virtual-machines), and errors that users have reported.
package arm

// Package arm is a double of Azure: its Resource Manager with compute and network, long-running operations, the login endpoint
// that hands out tokens, Resource Graph, and the scheduled events that instances see.
//
// Requests are read and answers are written by the fake servers of Azure's own SDK (packages armcompute/fake, armnetwork/fake and
// armresourcegraph/fake), which know paths, parameters and models. What is there, what becomes of it in the course of time, what it
// costs of quotas, and what is refused in which words, is this package's.
//
// Sources: the models of azure-sdk-for-go (armcompute v7.2.0, API version 2025-04-01; armnetwork v6.2.0), the REST reference of
// Azure (long-running operations: https://learn.microsoft.com/azure/azure-resource-manager/management/async-operations), the lists of
// error codes (https://learn.microsoft.com/azure/virtual-machines/error-codes-spot and .../troubleshoot/azure/virtual-machines), and
// errors that users have reported.
package arm

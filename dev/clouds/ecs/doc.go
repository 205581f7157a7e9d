// Package ecs simulates Alibaba Cloud as far as machines need it: Elastic Compute Service (ECS), vSwitches of
// VPC, Resource Management, and the identity of callers.
//
// Requests and answers have the form of the RPC style of Alibaba Cloud's APIs: parameters in the query, JSON
// answers. Names of parameters and fields come from the references of ECS 2014-05-26, VPC 2016-04-28, Resource
// Management 2020-03-31 and STS 2015-04-01, and from the models from which the SDKs are generated. Codes of
// errors come from the references of each action. Signatures are verified in both forms: the newer one in the
// header Authorization (ACS3-HMAC-SHA256), and the older one in the parameters (HMAC-SHA1).
package ecs

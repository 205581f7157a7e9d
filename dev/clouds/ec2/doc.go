// Package ec2 simulates AWS as far as machines need it: EC2, classic and newer load balancers, STS, and the
// metadata service of instances.
//
// Requests and answers have the form of the Query protocol (Amazon EC2 API Reference 2016-11-15, Elastic Load Balancing
// 2012-06-01 and 2015-12-01, STS 2011-06-15). Names and places of fields come from the API references and from the models
// from which the SDKs are generated. Codes of errors and their HTTP statuses come from "Error codes for the Amazon EC2 API"
// and from the references of each action. Signatures are verified as "Signature Version 4" describes.
package ec2

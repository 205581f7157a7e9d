// Package rights holds the roles of config/rbac to what the programs ask an API
// server for while they are tested: a right that no program used and a request
// that was refused are both defects of a role.
//
// Programs say what they ask for in the audit log of the API server, which has a
// line for each request with its account and with what the authorizer decided.
package rights

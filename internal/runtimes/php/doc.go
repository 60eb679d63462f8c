// Package php finds the calls of PHP 7.3 to 8.6, in builds that are not thread-safe.
//
//	executor_globals → zend_execute_data → zend_execute_data → …
//	                    ├ zend_function: name, class, file
//	                    └ zend_op: line
//
// A function written in C has a frame too, but no file. A nameless function is the program
// itself, {main}, or an included file.
//
// The offsets of fields are in a table, taken from opentelemetry-ebpf-profiler at b442421. A
// test compares the calls found with what PHP itself reports: 7.4.33, 8.2, 8.4.27, 8.5.7 and
// 8.6.0RC3.
package php

import opwright as opwright
